import { parseUrl } from '../guarded-http/parse-url.ts';

/** Public gateways of IPFS, in the order to try. */
export const publicIpfsGateways: readonly string[] = ['https://ipfs.io/ipfs/', 'https://dweb.link/ipfs/'];
/** Longest `uri`, in characters, unless the `uri` contains the document itself. */
const maxUriChars = 2_048;
const cid = /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{40,120}|[zf][0-9A-Za-z]{40,120})(\/.*)?$/s;

/** Where the document of a `uri` can be fetched, in the order to try. Null if the `uri` names no address that may be requested. */
export function placesOf(uri: string, ipfsGateways: readonly string[]): readonly URL[] | null {
  if (uri.length > maxUriChars) return null;
  const ipfs = /^(?:ipfs:\/\/(?:ipfs\/)?|\/?ipfs\/)(.*)$/is.exec(uri)?.[1];
  if (ipfs !== undefined) return gatewayUrls(ipfs, ipfsGateways);
  const url = parseUrl(uri);
  if (url === null) return null;
  // If one IPFS gateway does not return the content, another may: the name of the content is its hash.
  const named = /^\/ipfs\/(.*)$/s.exec(url.pathname)?.[1];
  const others = named === undefined ? null : gatewayUrls(named, ipfsGateways);
  return [url, ...(others ?? []).filter(({ host }) => host !== url.host)];
}

function gatewayUrls(path: string, ipfsGateways: readonly string[]): readonly URL[] | null {
  const name = cid.exec(path)?.[1];
  if (name === undefined) return null;
  const urls = ipfsGateways.map((gateway) => new URL(path, gateway));
  // Refuses dots that lead out of the folder, however they are written: with backslashes, escaped, or with tabs between them.
  return urls.every(({ href }, i) => `${href}/`.startsWith(`${ipfsGateways[i]}${name}/`)) ? urls : null;
}
