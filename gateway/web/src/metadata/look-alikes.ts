/** Letters of other scripts that look like a Latin letter or digit, after Unicode's confusables (UTS #39). Each group: what they look like, and they. */
const groups: readonly (readonly [string, string])[] = [
  ['A', 'АΑᎪꓮᗅᴀ'],
  ['B', 'ВΒᏴꓐᗷʙ'],
  ['C', 'СϹᏟꓚᴄ'],
  ['D', 'ᎠꓓᗞᴅԀ'],
  ['E', 'ЕΕᎬꓰᴇ'],
  ['F', 'ϜꓝᖴꜰҒ'],
  ['G', 'ᏀꓖɢԌ'],
  ['H', 'НΗᎻꓧᕼʜ'],
  ['I', 'ІΙӀꓲɪⵏ'],
  ['J', 'ЈᎫꓙᒍᴊ'],
  ['K', 'КΚᏦꓗᴋ'],
  ['L', 'ᏞꓡᒪʟԼ'],
  ['M', 'МΜᎷꓟᴍϺ'],
  ['N', 'ΝꓠɴԤ'],
  ['O', 'ОΟՕꓳᴏⵔ'],
  ['P', 'РΡᏢꓑᑭᴘ'],
  ['Q', 'Ԛⵕ'],
  ['R', 'ᎡꓣᖇʀƦ'],
  ['S', 'ЅՏᏚꓢꜱ'],
  ['T', 'ТΤᎢꓔᴛ₮Ⲧ'],
  ['U', 'ՍꓴᑌᴜԱ'],
  ['V', 'ᏙꓦᴠѴⴸ'],
  ['W', 'ԜᎳꓪᴡ'],
  ['X', 'ХΧꓫⅩᚷ'],
  ['Y', 'УΥҮꓬʏ'],
  ['Z', 'ΖᏃꓜᴢ'],
  ['a', 'аαɑ'],
  ['c', 'сϲⲥ'],
  ['d', 'ԁꓒ'],
  ['e', 'еҽ'],
  ['g', 'ɡց'],
  ['h', 'һհ'],
  ['i', 'іιıɩ'],
  ['j', 'јϳ'],
  ['k', 'κк'],
  ['l', 'ӏⲓǀ'],
  ['n', 'ոп'],
  ['o', 'оοօσ'],
  ['p', 'рρ'],
  ['q', 'ԛզ'],
  ['r', 'гᴦ'],
  ['s', 'ѕ'],
  ['t', 'т'],
  ['u', 'υս'],
  ['v', 'νѵ'],
  ['w', 'ԝա'],
  ['x', 'хχ'],
  ['y', 'уγү'],
];

const latin: ReadonlyMap<string, string> = new Map(
  groups.flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)),
);
/** Digits and signs in place of letters: `S0L`, `U$DC`. */
const inPlaceOf: ReadonlyMap<string, string> = new Map([
  ['0', 'O'],
  ['1', 'I'],
  ['L', 'I'],
  ['5', 'S'],
  ['$', 'S'],
  ['|', 'I'],
]);

/** The text with each look-alike of a Latin letter replaced by the letter, and other forms of a character by its usual one. */
export function withLatinLetters(text: string): string {
  return Array.from(text.normalize('NFKC'), (letter) => latin.get(letter) ?? letter).join('');
}

/** Two texts with the same shape can be taken for each other at a glance: without case, accents and signs, and with digits as letters. */
export function shapeOf(text: string): string {
  const letters = withLatinLetters(withLatinLetters(text.normalize('NFKD').replaceAll(/\p{M}/gu, '')).toUpperCase());
  // A dollar sign before a symbol says only that it is one.
  return Array.from(letters.replace(/^\$/, ''), (letter) => inPlaceOf.get(letter) ?? letter)
    .join('')
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}
