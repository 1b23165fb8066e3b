import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { imageOf, imagesVersion, showImage } from '../state/metadata/images.ts';

/** Colours of generated icons, as hues. */
const hues = 12;

/**
 * The image of a token, once it can be seen and the gateway has fetched it; until then, or without one, its generated icon. The page loads no
 * pictures from elsewhere: the addresses of its visitors would reach the hosts that creators of tokens choose.
 */
export function TokenIcon({ of: mint, size = 28 }: { readonly of: string; readonly size?: number }) {
  const place = useRef<HTMLSpanElement>(null);
  const [image, setImage] = useState(imageOf(mint));
  useEffect(() => showImage(mint, place.current!), [mint]);
  useEffect(() => {
    const read = (): void => setImage(imageOf(mint));
    read();
    return imagesVersion.follow(read);
  }, [mint]);
  return (
    <span class="picture" ref={place}>
      {image === null ? <Icon of={mint} size={size} /> : <img class="icon" src={image} alt="" width={size} height={size} />}
    </span>
  );
}

/** An icon generated from an address. */
export function Icon({ of, size = 28 }: { readonly of: string; readonly size?: number }) {
  const { cells, hue } = useMemo(() => drawingOf(of), [of]);
  return (
    <svg class="icon" style={{ '--hue': `hsl(${hue} 68% 50%)` }} width={size} height={size} viewBox="0 0 7 7" aria-hidden="true">
      <rect width="7" height="7" rx="1.8" class="back" />
      {cells.map(([x, y]) => (
        <rect key={`${x}${y}`} x={x + 1} y={y + 1} width="1.04" height="1.04" class="front" />
      ))}
    </svg>
  );
}

/** Five by five cells, symmetric, by a hash of the text (FNV-1a). */
function drawingOf(text: string): { readonly cells: readonly (readonly [number, number])[]; readonly hue: number } {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193) >>> 0;
  // Mints of one launchpad end alike, so mix once more.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  hash = (hash ^ (hash >>> 13)) >>> 0;
  const cells: [number, number][] = [];
  for (let i = 0; i < 15; i++) {
    if (((hash >>> i) & 1) === 0) continue;
    const [x, y] = [i % 3, Math.floor(i / 3)];
    cells.push([x, y]);
    if (x < 2) cells.push([4 - x, y]);
  }
  return { cells, hue: ((hash >>> 20) % hues) * (360 / hues) };
}
