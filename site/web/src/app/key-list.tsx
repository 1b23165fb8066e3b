import { useState } from 'preact/hooks';
import { Dialog } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { keysAct, setKeysAct, useShortcut } from './shortcuts.ts';

const keys: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['A', 'On the page of a token: goes to Amount'],
  ['Enter', 'In Amount: simulates the order, a sale if the amount is a percentage, otherwise a purchase'],
  ['B', 'On the page of a token: asks whether to buy. Nothing is sent before you confirm'],
  ['S', 'On the page of a token: asks whether to sell. Nothing is sent before you confirm'],
  ['Esc', 'Closes a dialog, and empties the search'],
  ['?', 'This list'],
];

/** A button that opens the list of keys; so does the question mark. */
export function KeyList() {
  const [isOpen, setOpen] = useState(false);
  const isOn = useStore(keysAct);
  useShortcut('?', () => setOpen(true));
  useShortcut('/', () => document.querySelector<HTMLElement>('input[type=search]')?.focus());
  return (
    <>
      <button type="button" class="small" aria-keyshortcuts="?" onClick={() => setOpen(true)}>
        Keys
      </button>
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
              <input type="checkbox" checked={isOn} onChange={(event) => setKeysAct(event.currentTarget.checked)} />
              The keys /, A, B, S and ? act
            </label>
            <button type="submit">Close</button>
          </form>
        </Dialog>
      )}
    </>
  );
}
