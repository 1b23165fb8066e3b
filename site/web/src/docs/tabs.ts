/** The language that the reader chose, for all samples and pages. */
const storedName = 'sluice-docs-language';

interface Tab {
  readonly title: string;
  readonly button: HTMLButtonElement;
  readonly panel: HTMLElement;
}

/** Makes tabs of the samples, which are lists of headings and code (WAI-ARIA: tabs with automatic activation). */
export function connectTabs(): void {
  const groups = [...document.querySelectorAll('.samples')].map(tabsOf);
  const select = (title: string): void => {
    for (const group of groups) {
      for (const { title: own, button, panel } of group) {
        button.ariaSelected = String(own === title);
        button.tabIndex = own === title ? 0 : -1;
        panel.hidden = own !== title;
      }
    }
  };
  for (const group of groups) {
    for (const [at, { title, button }] of group.entries()) {
      button.addEventListener('click', () => {
        localStorage.setItem(storedName, title);
        select(title);
      });
      button.addEventListener('keydown', ({ key }) => {
        const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
        if (step === 0) return;
        const next = group[(at + step + group.length) % group.length]!;
        next.button.focus();
        next.button.click();
      });
    }
  }
  const [first] = groups;
  if (first === undefined) return;
  const stored = localStorage.getItem(storedName);
  select(first.find(({ title }) => title === stored)?.title ?? first[0]!.title);
}

/** Replaces the headings of one list by a row of buttons. */
function tabsOf(list: Element, at: number): readonly Tab[] {
  const row = document.createElement('div');
  row.role = 'tablist';
  row.ariaLabel = 'Language';
  const tabs = [...list.querySelectorAll('h4')].map((heading): Tab => {
    const panel = heading.nextElementSibling as HTMLElement;
    const button = document.createElement('button');
    const title = heading.textContent ?? '';
    button.type = 'button';
    button.role = 'tab';
    button.textContent = title;
    button.id = `tab-${at}-${title}`;
    panel.id = `panel-${at}-${title}`;
    panel.role = 'tabpanel';
    button.setAttribute('aria-controls', panel.id);
    panel.setAttribute('aria-labelledby', button.id);
    heading.remove();
    return { title, button, panel };
  });
  row.append(...tabs.map(({ button }) => button));
  list.prepend(row);
  return tabs;
}
