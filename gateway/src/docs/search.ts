/** Filters the links of the navigation while one types. The page works without it. It contains no character that is special in HTML. */
export const searchScript = `
const field = document.getElementById('search');
const entries = Array.from(document.querySelectorAll('nav li'));
const count = document.getElementById('found');
field.hidden = false;
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(' ').filter(Boolean);
  let found = 0;
  for (const entry of entries) {
    entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
    if (!entry.hidden) found += 1;
  }
  count.textContent = words.length === 0 ? '' : found + ' found';
});
`;
