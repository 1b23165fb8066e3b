import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, Dialog } from '../parts/parts.tsx';
import { Store, useStore } from '../state/store.ts';

const storedName = 'sluice-keys';
const acts = new Map<string, () => void>();

/** Whether single keys act. People who dictate, or whose keys slip, turn them off. */
const keysAct = new Store(localStorage.getItem(storedName) !== 'off');

/** Does something at a single key while the component is drawn. */
export function useShortcut(key: string, act: () => void): void {
  const newest = useRef(act);
  newest.current = act;
  useEffect(() => {
    const run = (): void => newest.current();
    acts.set(key, run);
    return () => {
      if (acts.get(key) === run) acts.delete(key);
    };
  }, [key]);
}

/** Fields for numbers contain none of the keys, so these act there too. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input:not([inputmode=decimal], [type=checkbox]), textarea, select') !== null;
}

addEventListener('keydown', (event) => {
  const act = acts.get(event.key.toLowerCase());
  if (act === undefined || !keysAct.value || event.defaultPrevented || event.repeat || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  event.preventDefault();
  act();
});

const keys: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['A', 'On the page of a token: goes to Amount'],
  ['Enter', 'In Amount: simulates the order, a sale if the amount is a percentage, otherwise a purchase'],
  ['B', 'On the page of a token: asks whether to buy. Nothing is sent before you confirm'],
  ['S', 'On the page of a token: asks whether to sell. Nothing is sent before you confirm'],
  ['↑ ↓', 'On the line of a trigger in a chart: moves it. Enter applies, Esc resets, Delete cancels the trigger'],
  ['Esc', 'Closes a dialog, and empties the search'],
  ['?', 'This list'],
];

/** A button that opens the list of keys; so does the question mark. */
export function KeyList() {
  const [isOpen, setOpen] = useState(false);
  const isOn = useStore(keysAct);
  const setActs = (isSet: boolean): void => {
    localStorage.setItem(storedName, isSet ? 'on' : 'off');
    keysAct.set(isSet);
  };
  useShortcut('?', () => setOpen(true));
  useShortcut('/', () => document.querySelector<HTMLElement>('input[type=search]')?.focus());
  return (
    <>
      <Button class="small" aria-keyshortcuts="?" onClick={() => setOpen(true)}>
        Keys
      </Button>
      {isOpen && (
        <Dialog title="Keys" onClose={() => setOpen(false)}>
          <table class="keys">
            <tbody>
              {keys.map(([key, what]) => (
                <tr key={key}>
                  <th scope="row">
                    <kbd>{key}</kbd>
                  </th>
                  <td>{what}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <form method="dialog">
            <label class="check">
              <input type="checkbox" checked={isOn} onChange={(event) => setActs(event.currentTarget.checked)} />
              The keys /, A, B, S and ? act
            </label>
            <button type="submit">Close</button>
          </form>
        </Dialog>
      )}
    </>
  );
}
