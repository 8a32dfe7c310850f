import htm from "htm";
import { type ComponentChildren, h, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { changes, connected, messageOf, NotConnected } from "./calls.ts";
import type { Facts, Need } from "./model.ts";
import { system, useAllowed } from "./store.ts";

type Template = (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** Renders a template. Values become text or attributes, never markup. */
export const html: Template = (htm as unknown as { bind(h: unknown): Template }).bind(h);

type Children = { readonly children?: ComponentChildren };

export interface Live<T> {
  readonly data?: T;
  readonly problem?: string;
}

/**
 * Loads data now, at intervals, after each call that may have changed something, and after a reconnection. Renders only if something
 * changed. A hidden page loads nothing.
 */
export function useLive<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[] = [],
  everyMs = 1000,
): Live<T> {
  const [live, setLive] = useState<Live<T>>({});
  useEffect(() => {
    const left = new AbortController();
    let running: Promise<void> | undefined;
    let shown: string | undefined;
    const once = async () => {
      let next: Live<T>;
      try {
        next = { data: await load(left.signal) };
      } catch (error) {
        if (left.signal.aborted || error instanceof NotConnected) return;
        next = { problem: messageOf(error) };
      }
      const text = JSON.stringify(next);
      if (left.signal.aborted || text === shown) return;
      shown = text;
      setLive(next);
    };
    const refresh = async () => {
      await running;
      running ??= once().finally(() => {
        running = undefined;
      });
    };
    const timer = setInterval(() => {
      if (!document.hidden && connected.get() && running === undefined) void refresh();
    }, everyMs);
    const unsubscribe = changes.subscribe(() => void refresh());
    void refresh();
    return () => {
      left.abort();
      clearInterval(timer);
      unsubscribe();
    };
  }, inputs);
  return live;
}

/** Shows loaded data, why it could not be loaded, or that it is loading. */
export function shownLive<T>({ data, problem }: Live<T>, show: (data: T) => unknown): unknown {
  if (problem !== undefined) return html`<p class="problem" role="alert">${problem}</p>`;
  return data === undefined ? html`<p class="empty" aria-busy="true">Loading …</p>` : show(data);
}

/** Returns the name of the console, which distinguishes the local system from a deployment. */
export const nameOf = (facts: Facts | undefined): string =>
  facts?.isSimulated === false ? "Console" : "Local console";

let isFirstPage = true;

/** The content of a view under its heading, which gets the focus when the view is opened from another. */
export function Page({
  title,
  lead,
  actions,
  children,
}: Children & { title: string; lead?: unknown; actions?: unknown }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${nameOf(system.get())}`;
    if (!isFirstPage) {
      heading.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirstPage = false;
  }, [title]);
  return html`<div class="view">
    <div class="title">
      <div><h1 tabindex="-1" ref=${heading}>${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>
      ${actions && html`<div class="buttons">${actions}</div>`}
    </div>
    ${children}
  </div>`;
}

export const Card = ({
  title,
  hint,
  className = "",
  needs,
  children,
}: Children & { title: unknown; hint?: unknown; className?: string; needs?: Need }) =>
  useAllowed(needs) &&
  html`<section class=${`card ${className}`}><h2>${title}</h2>${hint && html`<p class="hint">${hint}</p>`}${children}</section>`;

/** Names and values. Rows without a value are left out. */
export const FactList = ({ rows }: { rows: Readonly<Record<string, unknown>> }) =>
  html`<dl class="facts">
    ${Object.entries(rows)
      .filter(([, value]) => value !== undefined && value !== "" && value !== false)
      .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;

interface TableProps {
  /** Read by screen readers only. */
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** Shown if there is no row: what to do next. */
  readonly empty: unknown;
}

/** A table. On a narrow screen each row is a block whose cells have their column's name. */
export const Table = ({ caption, columns, rows, empty }: TableProps) =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<table>
        <caption class="unseen">${caption}</caption>
        <thead><tr>${columns.map(column => html`<th scope="col">${column || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
        <tbody>
          ${rows.map(row => html`<tr>${row.map((cell, at) => html`<td data-column=${columns[at]}>${cell}</td>`)}</tr>`)}
        </tbody>
      </table>`;

const statesByTone: Readonly<Record<string, readonly string[]>> = {
  good: [
    "complete",
    "active",
    "enabled",
    "served",
    "healthy",
    "valid",
    "completed",
    "imported",
    "Shipped",
    "delivered",
  ],
  warn: ["partial", "activation_pending", "stopped", "paused", "present", "revoking", "unknown", "may be registered"],
  bad: ["failed", "not valid", "refused", "not healthy", "given_up", "lost", "exception", "revoke_failed"],
  off: ["not served", "cancelled", "disabled", "revoked"],
};
const toneOf = (state: string): string =>
  Object.keys(statesByTone).find(tone => statesByTone[tone]?.includes(state)) ?? "calm";

/** A state as a word with a colour. */
export const Badge = ({ state }: { state: unknown }) =>
  html`<span class=${`badge ${toneOf(String(state))}`}>${String(state)}</span>`;

/** An id, a token or a code; nothing if it is absent. */
export const code = (text: unknown) =>
  text === undefined || text === null || text === "" ? undefined : html`<code>${String(text)}</code>`;

/** JSON, or text that may be JSON, over several lines. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>${typeof value === "string" ? indented(value) : JSON.stringify(value, undefined, 2)}</pre>`;
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A time; with its date if that is not today. @param at ISO 8601, or ms since 1970 */
export function time(at: string | number | undefined) {
  if (at === undefined) return undefined;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const text = isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
  return html`<time datetime=${date.toISOString()} title=${date.toISOString()}>${text}</time>`;
}

export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;
