/**
 * Writes the text of each block between its markers, `<!-- generated: name -->` and `<!-- /generated -->`. Throws if the document lacks the
 * markers of a block, because the table would be missing, or has markers for which there is no text, because the table would be stale.
 */
export function fillBlocks(document: string, blocks: Readonly<Record<string, string>>): string {
  const found = new Set<string>();
  const filled = document.replaceAll(/<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- \/generated -->/g, (_whole, name: string) => {
    const text = blocks[name];
    if (text === undefined) throw new Error(`the block "${name}" has no text`);
    found.add(name);
    return `<!-- generated: ${name} -->\n${text}\n<!-- /generated -->`;
  });
  const missing = Object.keys(blocks).filter((name) => !found.has(name));
  if (missing.length > 0) throw new Error(`the document has no block for: ${missing.join(', ')}`);
  return filled;
}
