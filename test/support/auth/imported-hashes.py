# Makes the hashes of imported-hashes.json by crypt(3) and Python's hashlib, of made-up passwords:
#   python3.11 -W ignore test/support/auth/imported-hashes.py > test/support/auth/imported-hashes.json
import base64
import crypt
import hashlib
import json


def ab64(data):
    return base64.b64encode(data).decode().rstrip("=").replace("+", ".")


def passlib(bits, password, rounds, salt):
    tag = hashlib.pbkdf2_hmac(f"sha{bits}", password.encode(), salt, rounds)
    return f"$pbkdf2-sha{bits}${rounds}${ab64(salt)}${ab64(tag)}"


def django(password, rounds, salt):
    tag = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), rounds)
    return f"pbkdf2_sha256${rounds}${salt}${base64.b64encode(tag).decode()}"


crypt_settings = (
    "$5$rounds=1000$saltsalt",
    "$5$abc",
    "$6$rounds=1000$saltstring./0",
    "$6$a.b/c",
    "$2a$04$abcdefghijklmnopqrstuu",
    "$2b$04$./ABCDEFGHIJKLMNOPQRSe",
    "$2y$05$zyxwvutsrqponmlkjihgfO",
)
made = []
for password in ("correct horse battery", "pässwörd ☃ 雪"):
    made += [(password, crypt.crypt(password, settings)) for settings in crypt_settings]
    made += [(password, passlib(bits, password, 1200, bytes(range(251, 256)) + b"0123456789a")) for bits in (256, 512)]
    made.append((password, django(password, 1500, "yGIWTt5aCoVfM8xkBXZ0Qd")))
for length in (31, 33, 63, 65, 127):
    made += [("a" * length, crypt.crypt("a" * length, f"${id}$rounds=1000$saltsalt")) for id in (5, 6)]
made.append(("b" * 80, crypt.crypt("b" * 80, "$2b$04$abcdefghijklmnopqrstuu")))
print("[\n" + ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in made) + "\n]")
