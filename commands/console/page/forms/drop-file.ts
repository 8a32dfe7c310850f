import { useState } from "preact/hooks";
import { messageOf, note } from "../calls.ts";
import { html } from "../ui.ts";

/** Takes a file by drop or by choice. */
export function DropFile({
  label,
  hint,
  take,
}: {
  label: string;
  hint: string;
  take: (name: string, text: string) => Promise<void>;
}) {
  const [isOver, setOver] = useState(false);
  const use = async (files: FileList | null | undefined) => {
    setOver(false);
    const [file] = files ?? [];
    if (file === undefined) return;
    try {
      await take(file.name, await file.text());
    } catch (error) {
      note.set({ name: file.name, text: messageOf(error) });
    }
  };
  return html`<label
    class=${`drop ${isOver ? "over" : ""}`}
    onDragOver=${(event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    }}
    onDragLeave=${() => setOver(false)}
    onDrop=${(event: DragEvent) => {
      event.preventDefault();
      void use(event.dataTransfer?.files);
    }}
  >
    <span><strong>${label}</strong> ${hint}</span>
    <input type="file" onChange=${(event: Event) => {
      const input = event.target as HTMLInputElement;
      void use(input.files).then(() => {
        input.value = "";
      });
    }} />
  </label>`;
}
