import type { Locator, Page } from 'playwright-core';

/** Presses of the tab key that reach any part of a page. */
const maxTabs = 200;

/** Moves the focus to an element by the tab key. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < maxTabs; presses++) {
    await page.keyboard.press('Tab');
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
  }
  throw new Error(`${maxTabs} presses of the tab key do not reach ${String(target)}`);
}

/** Reaches a button or link by the tab key, and presses it. */
export async function tabAndPress(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

/** Reaches a field by the tab key, and replaces its text. */
export async function tabAndType(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Control+A');
  await page.keyboard.type(text);
}
