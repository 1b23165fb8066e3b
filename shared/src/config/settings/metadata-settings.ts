import { publicIpfsGateways } from '../../metadata/addresses.ts';
import { inQuotes, listOf, type Fault, type Get } from '../fault.ts';

/** Reads the gateways, each with the slash at its end. `none`: nothing is fetched from IPFS. */
export function readIpfsGateways(get: Get, fault: Fault): readonly string[] {
  if (get('IPFS_GATEWAYS') === null) return publicIpfsGateways;
  const entries = listOf('IPFS_GATEWAYS', get, fault);
  if (entries.includes('none')) {
    if (entries.length > 1) fault('IPFS_GATEWAYS', 'has `none` together with gateways. Use one or the other');
    return [];
  }
  return entries.map((entry) => {
    const url = URL.canParse(entry) ? new URL(entry) : null;
    const isPlain = url !== null && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === '';
    if (!isPlain || url.username !== '' || url.password !== '' || !/\/ipfs\/?$/.test(url.pathname)) {
      fault('IPFS_GATEWAYS', `${inQuotes(entry)} is not a gateway of the form https://host/ipfs/`);
      return entry;
    }
    return url.href.replace(/\/?$/, '/');
  });
}
