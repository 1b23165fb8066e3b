import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { Fault } from './parts.tsx';

/** A form that shows what went wrong and stays open until it succeeds. */
export function DialogForm(props: {
  submit: string;
  danger?: boolean;
  onClose: () => void;
  work: (fields: FormData) => Promise<void>;
  children: ComponentChildren;
}) {
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async (form: HTMLFormElement): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await props.work(new FormData(form));
    } catch (error) {
      setFault(faultText(error));
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(event.currentTarget);
      }}
    >
      {props.children}
      <Fault text={fault} />
      <div class="row end">
        <button type="button" onClick={props.onClose}>
          Cancel
        </button>
        <button type="submit" class={props.danger === true ? 'sell' : 'primary'} disabled={busy}>
          {props.submit}
        </button>
      </div>
    </form>
  );
}
