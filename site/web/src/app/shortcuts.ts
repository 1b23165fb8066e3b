import { useEffect, useRef } from 'preact/hooks';
import { Store } from '../state/store.ts';

const storedName = 'sluice-keys';
const acts = new Map<string, () => void>();

/** Whether single keys act. People who dictate, or whose keys slip, turn them off. */
export const keysAct = new Store(localStorage.getItem(storedName) !== 'off');

export function setKeysAct(isOn: boolean): void {
  localStorage.setItem(storedName, isOn ? 'on' : 'off');
  keysAct.set(isOn);
}

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
