import './docs.css';
import '../app/theme.ts';
import { render } from 'preact';
import { openCredentials } from './credentials.tsx';
import { Console } from './console.tsx';
import { fillSamples } from './examples.ts';
import { Search } from './search.tsx';
import { connectTabs } from './tabs.ts';
import { Try } from './try.tsx';

/** The script of the documentation: search, tabs, requests and the console. Without it the pages can be read. */

/** The keyboard must reach what scrolls. */
const scrolling = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target instanceof HTMLElement) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
  }
});
for (const each of document.querySelectorAll('pre, .wide')) scrolling.observe(each);

const contents = document.querySelector<HTMLElement>('#contents');
for (const place of document.querySelectorAll('[data-search]')) if (contents !== null) render(<Search contents={contents} />, place);
connectTabs();
for (const place of document.querySelectorAll<HTMLElement>('[data-try]')) render(<Try id={place.dataset['try']!} />, place);
for (const place of document.querySelectorAll('[data-console]')) render(<Console />, place);
void openCredentials();
fillSamples();
