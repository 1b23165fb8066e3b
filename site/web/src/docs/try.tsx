import { useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { useLoaded } from '../parts/hooks.ts';
import { Fault } from '../parts/parts.tsx';
import { AnswerView, readAnswer, type Answer } from './answer.tsx';
import { CallerField, sendAs } from './credentials.tsx';
import { readDocument } from './documents.ts';
import { useFilledTexts } from './examples.ts';
import { Fields } from './fields.tsx';
import { endpointOf, requestOf, type Endpoint, type OpenApi } from './operation.ts';

/** A form that sends the request of one endpoint to this gateway. */
export function Try({ id }: { readonly id: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Try it</summary>
      {isOpen && <LoadedForm id={id} />}
    </details>
  );
}

function LoadedForm({ id }: { readonly id: string }) {
  const { value, fault } = useLoaded(() => readDocument<OpenApi>('/api/openapi.json'), 'openapi', null);
  return value === null ? <Fault text={fault} /> : <Form endpoint={endpointOf(value, id)} />;
}

function Form({ endpoint }: { readonly endpoint: Endpoint }) {
  const { fields, spends, method, path } = endpoint;
  const [texts, setTexts] = useFilledTexts(fields);
  const [isReal, setIsReal] = useState(false);
  const [isWaiting, setIsWaiting] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const send = async (): Promise<void> => {
    setFault(null);
    setAnswer(null);
    setIsWaiting(true);
    try {
      const request = requestOf(endpoint, texts, spends === 'dryRun' && !isReal);
      const startedMs = performance.now();
      setAnswer(await readAnswer(await sendAs(request.path, request.init), startedMs));
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
      <CallerField />
      <Fields fields={fields} texts={texts} onChange={setTexts} />
      {spends !== 'no' && <Spending spends={spends} isReal={isReal} onChange={setIsReal} />}
      <button type="submit" class={isReal ? 'real' : 'primary'} disabled={isWaiting || (spends === 'always' && !isReal)}>
        {spends === 'no' ? 'Send' : isReal ? 'Send the real order' : spends === 'dryRun' ? 'Send as a dry run' : 'Send'}
      </button>
      <div role="status">
        <Fault text={fault} />
        {answer !== null && <AnswerView answer={answer} />}
      </div>
    </form>
  );
}

/** A request that can spend does so only after a second decision. */
function Spending({ spends, isReal, onChange }: { spends: 'always' | 'dryRun'; isReal: boolean; onChange: (isReal: boolean) => void }) {
  return (
    <div class={isReal ? 'spending real' : 'spending'}>
      <label class="check">
        {spends === 'dryRun' ? (
          <input type="checkbox" checked={!isReal} onChange={({ currentTarget }) => onChange(!currentTarget.checked)} />
        ) : (
          <input type="checkbox" checked={isReal} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
        )}
        {spends === 'dryRun' ? 'Dry run' : 'Send a real order'}
      </label>
      <p>
        {isReal
          ? 'This request is sent for real. It can spend the funds of the wallet.'
          : spends === 'dryRun'
            ? 'Nothing is signed or sent, and no order is created.'
            : 'This endpoint has no dry run.'}
      </p>
    </div>
  );
}
