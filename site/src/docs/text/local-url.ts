/** The address of the gateway in the guides and in rendered documents. */
export const localUrl = 'http://127.0.0.1:8080';
/** Marks the place in rendered pages for `on` or `off`: whether PumpPortal clients without a key are served. */
export const keylessMark = '%KEYLESS%';

/** A rendered text as this gateway serves it. `url`: an origin, as in PUBLIC_URL. */
export function textOfGateway(text: string, { url, isKeyless }: { readonly url: string; readonly isKeyless: boolean }): string {
  return text
    .replaceAll(localUrl, url)
    .replaceAll(localUrl.replace(/^http/, 'ws'), url.replace(/^http/, 'ws'))
    .replaceAll(keylessMark, isKeyless ? 'on' : 'off');
}
