/** No name or text of ours has this character, and PostgreSQL cannot store it. So requests with it are refused before a handler sees them. */
const nul = '\0';

export const nulFault = 'must not contain U+0000';

export function hasNul(text: string): boolean {
  return text.includes(nul);
}
