/** Filters the links of the navigation while one types. */
export function connectSearch(): void {
  const field = document.querySelector<HTMLInputElement>('#search');
  const count = document.querySelector('#found');
  if (field === null || count === null) return;
  const entries = [...document.querySelectorAll<HTMLElement>('nav li')];
  field.hidden = false;
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(' ').filter(Boolean);
    for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset['words']?.includes(word));
    count.textContent = words.length === 0 ? '' : `${entries.filter((entry) => !entry.hidden).length} found`;
  });
}
