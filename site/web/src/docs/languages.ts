/** The language that the reader chose, for all samples and pages. */
const storedName = 'sluice-docs-language';

/** Opens the samples in the chosen language. A reader who opens another one chooses it. */
export function followLanguage(): void {
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
