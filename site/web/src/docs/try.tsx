import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { faultText } from '../state/server.ts';
import { Fault } from '../parts/parts.tsx';
import { AnswerView, readAnswer, type Answer } from './answer.tsx';
import { CallerField, sendAs } from './credentials.tsx';
import { requestOf } from './request.ts';

/** Shows the form of one endpoint. Its inputs are in the page; what sends them is added when it is opened. */
export function connectTry(place: HTMLDetailsElement): void {
  const form = place.querySelector('form')!;
  const send = document.createElement('div');
  form.append(send);
  place.hidden = false;
  place.addEventListener('toggle', () => render(<Send form={form} />, send), { once: true });
}

function Send({ form }: { readonly form: HTMLFormElement }) {
  const { method = '', path = '', spends = 'no' } = form.dataset;
  const [isReal, setIsReal] = useState(false);
  const [isWaiting, setIsWaiting] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const send = async (): Promise<void> => {
    setFault(null);
    setAnswer(null);
    setIsWaiting(true);
    try {
      const inputs = [...form.querySelectorAll<HTMLInputElement>('[data-in]')];
      const read = inputs.map(({ dataset, name, value }) => ({ place: dataset['in']!, name, text: value.trim() }));
      const request = requestOf(method, path, read, spends === 'dryRun' && !isReal);
      const startedMs = performance.now();
      setAnswer(await readAnswer(await sendAs(...request), startedMs));
    } catch (error) {
      setFault(faultText(error));
    }
    setIsWaiting(false);
  };
  useEffect(() => {
    const submit = (event: Event): void => {
      event.preventDefault();
      void send();
    };
    form.addEventListener('submit', submit);
    return () => form.removeEventListener('submit', submit);
  });
  return (
    <>
      <CallerField />
      {spends !== 'no' && <Spending hasDryRun={spends === 'dryRun'} isReal={isReal} onChange={setIsReal} />}
      <button type="submit" class={isReal ? 'sell' : 'primary'} disabled={isWaiting || (spends === 'always' && !isReal)}>
        {spends === 'no' ? 'Send' : isReal ? 'Send the real order' : spends === 'dryRun' ? 'Send as a dry run' : 'Send'}
      </button>
      <div role="status">
        <Fault text={fault} />
        {answer !== null && <AnswerView answer={answer} />}
      </div>
    </>
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
