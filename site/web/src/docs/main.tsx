import '../style/base.css';
import './docs.css';
import '../app/theme.ts';
import { render } from 'preact';
import { openCredentials } from './credentials.tsx';
import { Console, type Command } from './console.tsx';
import { fillSamples } from './examples.ts';
import { Search } from './search.tsx';
import { connectTry } from './try.tsx';

/** The script of the documentation: search, languages, requests and the console. Without it the pages can be read. */

/** The language that the reader chose, for all samples and pages. */
const storedName = 'sluice-docs-language';

/** The keyboard must reach what scrolls. */
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target instanceof HTMLElement) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  }
});
for (const each of document.querySelectorAll('pre, .wide')) scrolling.observe(each);

const contents = document.querySelector<HTMLElement>('#contents');
for (const place of document.querySelectorAll('[data-search]')) if (contents !== null) render(<Search contents={contents} />, place);
followLanguage();
for (const place of document.querySelectorAll<HTMLDetailsElement>('[data-try]')) connectTry(place);
for (const place of document.querySelectorAll<HTMLElement>('[data-console]')) {
  render(<Console commands={JSON.parse(place.dataset['console']!) as Command[]} />, place);
}
void openCredentials();
fillSamples();

/** Opens the samples in the chosen language. A reader who opens another one chooses it. */
function followLanguage(): void {
  const samples = [...document.querySelectorAll<HTMLDetailsElement>('details.sample')];
  const languageOf = (sample: HTMLDetailsElement): string => sample.querySelector('summary')!.textContent ?? '';
  let chosen = localStorage.getItem(storedName) ?? '';
  const show = (): void => {
    for (const sample of samples) if (languageOf(sample) === chosen) sample.open = true;
  };
  for (const sample of samples) {
    sample.querySelector('summary')!.addEventListener('click', () => {
      if (sample.open) return;
      chosen = languageOf(sample);
      localStorage.setItem(storedName, chosen);
      // After the click has opened this one.
      setTimeout(show);
    });
  }
  show();
}
