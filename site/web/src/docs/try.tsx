import { render } from 'preact';
import { useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { AnswerView, readAnswer, type Answer } from './answer.tsx';
import { CallerField, sendAs } from './credentials.tsx';
import { examples, fill } from './examples.ts';
import { requestOf, type Input } from './request.ts';

/** The form of an endpoint, as the server describes it. */
interface Form {
  readonly method: string;
  readonly path: string;
  readonly spends: 'no' | 'always' | 'dryRun';
  readonly inputs: readonly Field[];
}

/** `text`: what it begins with. */
interface Field extends Input {
  readonly isRequired: boolean;
  readonly hint: string;
  /** What can be chosen; empty if any text can be typed. */
  readonly options: readonly string[];
}

/** Shows the form of one endpoint when it is opened. */
export function connectTry(place: HTMLDetailsElement): void {
  const form = JSON.parse(place.dataset['form']!) as Form;
  place.hidden = false;
  const show = (): void => render(<Try form={form} />, place.appendChild(document.createElement('div')));
  place.addEventListener('toggle', show, { once: true });
}

function Try({ form: { method, path, spends, inputs } }: { readonly form: Form }) {
  useStore(examples);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [isReal, setIsReal] = useState(false);
  const [isWaiting, setIsWaiting] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const textOf = ({ name, text }: Field): string => typed[name] ?? fill(text);
  const send = async (): Promise<void> => {
    setFault(null);
    setAnswer(null);
    setIsWaiting(true);
    try {
      const read = inputs.map((field) => ({ ...field, text: textOf(field).trim() }));
      const request = requestOf(method, path, read, spends === 'dryRun' && !isReal);
      const startedMs = performance.now();
      setAnswer(await readAnswer(await sendAs(...request), startedMs));
    } catch (error) {
      setFault(faultText(error));
    }
    setIsWaiting(false);
  };
  return (
    <form
      aria-label={`${method} ${path}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div class="fields">
        {inputs.map((field) => (
          <FieldInput key={field.name} field={field} text={textOf(field)} onType={(text) => setTyped({ ...typed, [field.name]: text })} />
        ))}
      </div>
      <CallerField />
      {spends !== 'no' && <Spending hasDryRun={spends === 'dryRun'} isReal={isReal} onChange={setIsReal} />}
      <button type="submit" class={isReal ? 'sell' : 'primary'} disabled={isWaiting || (spends === 'always' && !isReal)}>
        {spends === 'no' ? 'Send' : isReal ? 'Send the real order' : spends === 'dryRun' ? 'Send as a dry run' : 'Send'}
      </button>
      <div role="status">
        <Fault text={fault} />
        {answer !== null && <AnswerView answer={answer} />}
      </div>
    </form>
  );
}

interface FieldInputProps {
  readonly field: Field;
  readonly text: string;
  readonly onType: (text: string) => void;
}

function FieldInput({ field: { place, name, isRequired, hint, options }, text, onType }: FieldInputProps) {
  const shared = { required: isRequired, value: text };
  const type = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void => onType(currentTarget.value);
  return (
    <label class={place}>
      <span>
        <code>{name}</code>
        {isRequired ? '' : ' optional'}
      </span>
      {place === 'body' ? (
        <textarea {...shared} rows={Math.min(text.split('\n').length, 12)} spellcheck={false} onInput={type} />
      ) : options.length === 0 ? (
        <input {...shared} placeholder={hint} spellcheck={false} autocomplete="off" onInput={type} />
      ) : (
        <select {...shared} onChange={type}>
          <option value="">{hint}</option>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
    </label>
  );
}

/** A request that can spend does so only after a second decision. */
function Spending({ hasDryRun, isReal, onChange }: { hasDryRun: boolean; isReal: boolean; onChange: (isReal: boolean) => void }) {
  return (
    <div class={isReal ? 'spending real' : 'spending'}>
      <label class="check">
        <input
          type="checkbox"
          checked={isReal !== hasDryRun}
          onChange={({ currentTarget }) => onChange(currentTarget.checked !== hasDryRun)}
        />
        {hasDryRun ? 'Dry run' : 'Send a real order'}
      </label>
      <p>
        {isReal
          ? 'This request is sent for real. It can spend the funds of the wallet.'
          : hasDryRun
            ? 'Nothing is signed or sent, and no order is created.'
            : 'This endpoint has no dry run.'}
      </p>
    </div>
  );
}
