import { Store } from '../state/store.ts';

export type Theme = 'light' | 'dark';
const storedName = 'sluice-theme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme | null {
  const text = localStorage.getItem(storedName);
  return text === 'light' || text === 'dark' ? text : null;
}

const current = (): Theme => stored() ?? (prefersDark.matches ? 'dark' : 'light');

export const theme = new Store<Theme>(current());

function apply(): void {
  theme.set(current());
  document.documentElement.style.colorScheme = theme.value;
}

export function switchTheme(): void {
  localStorage.setItem(storedName, theme.value === 'dark' ? 'light' : 'dark');
  apply();
}

prefersDark.addEventListener('change', apply);
apply();
