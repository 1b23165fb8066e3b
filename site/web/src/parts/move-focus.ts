/** The arrow keys move between the field of a search and what it found. */
export function moveFocus(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const places = [...event.currentTarget.querySelectorAll<HTMLElement>('input, a')];
  const next = places[places.findIndex((one) => one === document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
