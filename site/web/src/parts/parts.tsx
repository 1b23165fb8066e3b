import type { ComponentChildren, ComponentProps } from 'preact';
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

/** Why something was not read; before its first answer, that it is read. */
export function Reading({ fault, isRead }: { readonly fault: string | null; readonly isRead: boolean }) {
  return isRead || fault !== null ? <Fault text={fault} /> : <Empty>Loading …</Empty>;
}

/** A section of a page. `id`: of its heading. `aside`: next to the heading. */
export function Card(props: {
  readonly id: string;
  readonly title: string;
  readonly class?: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class={`card ${props.class ?? ''}`} aria-labelledby={props.id}>
      <div class="row between">
        <h2 id={props.id}>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

/** A button that submits nothing. */
export function Button(props: ComponentProps<'button'>) {
  return <button type="button" {...props} />;
}

/** A field for a text, with its name. */
export function Field({ label, ...input }: ComponentProps<'input'> & { readonly label: string }) {
  return (
    <label>
      <span>{label}</span>
      <input {...input} />
    </label>
  );
}

/** A field for one of several values. Each option: the value, and its text. */
export function Select(props: {
  readonly label: string;
  readonly options: readonly (readonly [value: string | number, text: string])[];
  /** In a form. */
  readonly name?: string;
  readonly class?: string;
  readonly value?: string;
  readonly onChange?: (value: string) => void;
}) {
  const { label, options, onChange, class: className, ...select } = props;
  return (
    <label class={className}>
      <span>{label}</span>
      <select {...select} onChange={(event) => onChange?.(event.currentTarget.value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
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
