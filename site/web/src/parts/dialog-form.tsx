import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { Button, Dialog, Fault, Field } from './parts.tsx';

/** The trimmed text of a field. */
export function textIn(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

const maxLabelChars = 64;

/** What a person calls a key or a wallet. */
export function LabelField({ title, value = '' }: { readonly title: string; readonly value?: string }) {
  return <Field label={title} name="label" maxLength={maxLabelChars} defaultValue={value} placeholder="what it is for" />;
}

/** A dialog with a form. It shows what went wrong, and stays open until the work succeeds. */
export function DialogForm(props: {
  title: string;
  submit: string;
  danger?: boolean;
  onClose: () => void;
  work: (fields: FormData) => Promise<unknown>;
  /** After the work. */
  onDone?: () => void;
  children: ComponentChildren;
}) {
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await props.work(new FormData(form));
      props.onDone?.();
    } catch (error) {
      setFault(faultText(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(event.currentTarget);
        }}
      >
        {props.children}
        <Fault text={fault} />
        <div class="row end">
          <Button onClick={props.onClose}>Cancel</Button>
          <button type="submit" class={props.danger === true ? 'sell' : 'primary'} disabled={busy}>
            {props.submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
