import { startChromium } from '../support/browser/chromium.ts';

const pageMs = 60_000;

/** Opens the page of a tutorial, and resolves when live candles have reached it and the chart shows some. Rejects if a script of the page fails. */
export async function followPage(url: string): Promise<void> {
  const chromium = await startChromium();
  try {
    const page = await (await chromium.newContext()).newPage();
    const failed = new Promise<never>((_, reject) => {
      page.on('pageerror', reject);
      setTimeout(() => reject(new Error(`${url} shows no live candle`)), pageMs).unref();
    });
    const candle = new Promise<void>((resolve) => {
      page.on('websocket', (socket) => {
        socket.on('framereceived', ({ payload }) => {
          if (String(payload).includes('"type":"candle"')) resolve();
        });
      });
    });
    const shown = async (): Promise<void> => {
      await page.goto(url);
      await page.locator('canvas').first().waitFor();
      await candle;
      // The page draws the candle after it has received it.
      await page.waitForTimeout(500);
    };
    await Promise.race([shown(), failed]);
  } finally {
    await chromium.close();
  }
}
