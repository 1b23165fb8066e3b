import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ago } from '../format/text.ts';
import { useNow } from './hooks.ts';

/** An age is at most this much higher than shown. */
const ageEveryMs = 250;

export function Fault({ text }: { readonly text: string | null }) {
  return text === null || text === '' ? null : (
    <p class="fault" role="alert">
      {text}
    </p>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A number with its name. */
export function Fact({ name, children, title }: { readonly name: string; readonly children: ComponentChildren; readonly title?: string }) {
  return (
    <div class="fact" title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** How old numbers are that the page reads from time to time, and does not follow: `read 3s ago`. */
export function AsOf({ readAtMs }: { readonly readAtMs: number }) {
  const now = useNow(ageEveryMs);
  return <small class="as-of">read {ago(Math.min(readAtMs, now), now)}</small>;
}

/** A modal dialog while it is rendered. The browser keeps the focus in it and closes it with Escape. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Copies a text. If the browser forbids it, the button says so. */
export function Copy({ text, name = 'Copy' }: { readonly text: string; readonly name?: string }) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setSaid(null), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (): void => {
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    written.then(
      () => setSaid('Copied'),
      () => setSaid('Select and press Ctrl+C'),
    );
  };
  return (
    <button type="button" class="small" onClick={copy}>
      <span aria-live="polite">{said ?? name}</span>
    </button>
  );
}

/** One of several choices, as buttons. */
export function Choice<T extends string>(props: {
  readonly name: string;
  readonly options: readonly (readonly [T, string])[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.name}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}
