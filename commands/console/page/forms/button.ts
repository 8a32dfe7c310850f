import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf, note } from "../calls.ts";
import type { Need } from "../model.ts";
import { useAllowed } from "../store.ts";
import { html } from "../ui.ts";
import { confirmed, type Question } from "./confirm.ts";

/** Runs work once at a time, and shows why it failed. */
export function useBusy(work: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false);
  // The state changes at the next rendering only: too late for the second of two clicks.
  const running = useRef(false);
  const run = async () => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    try {
      await work();
    } catch (error) {
      note.set({ name: "Failed", text: messageOf(error) });
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { isBusy, run };
}

interface ButtonProps {
  readonly label: string;
  readonly run: () => Promise<unknown>;
  readonly kind?: "main" | "danger" | "small";
  readonly title?: string;
  readonly confirm?: Question;
  /** The role without which the button is not offered. */
  readonly needs?: Need;
}

/** A button that waits while its work runs. */
export function Button({ label, run, kind, title, confirm, needs }: ButtonProps) {
  const isOffered = useAllowed(needs);
  const work = useBusy(async () => (confirm && !(await confirmed(confirm)) ? undefined : run()));
  if (!isOffered) return undefined;
  return html`<button type="button" class=${kind} title=${title} aria-disabled=${work.isBusy ? "true" : undefined} onClick=${work.run}>${label}</button>`;
}

/** A button that copies a text. */
export function Copy({
  text,
  label = "Copy",
  of,
}: {
  text: string | (() => Promise<string>);
  label?: string;
  of: string;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = useBusy(async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
    setCopied(true);
  });
  return html`<button type="button" class="small" aria-label=${`${isCopied ? "Copied" : label}: ${of}`} onClick=${copy.run}>${isCopied ? "Copied" : label}</button>`;
}
