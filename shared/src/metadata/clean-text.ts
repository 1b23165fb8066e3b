/**
 * A text of a stranger, in one line and of at most `max` characters. Control and format characters (direction marks can make a text look like
 * another one) and unpaired surrogates are removed.
 */
export function cleanText(value: string, max: number): string {
  const cut = value.slice(0, 8 * max).replaceAll(/[\t\n\v\f\r\u2028\u2029]+/g, ' ');
  // A joiner inside an emoji is not a direction mark.
  const clean = cut.replaceAll(/(?!\u200D)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, '').trim();
  return clean.length > max ? clean.slice(0, max).replace(/[\uD800-\uDBFF]$/, '') : clean;
}
