import type { Json, JsonObject } from '@sluice/shared/wire/documents/openapi/json.ts';
import { html, nothing, type Html } from './html.ts';
import { at, words } from './json-at.ts';
import { idOf, type ShownEndpoint } from './shown-endpoint.ts';

/** The form that sends a request of an endpoint. The page's script shows it, and adds the credentials and the button. */
export function tryForm({ method, paths, operation }: ShownEndpoint): Html {
  const parameters = operation['parameters'] as readonly JsonObject[];
  const body = at(operation, 'requestBody', 'content', 'application/json', 'example') as JsonObject | undefined;
  return html`<details class="try" data-try="${idOf(operation)}" hidden>
    <summary>Try it</summary>
    <form aria-label="${method} ${paths[0]!}" data-method="${method}" data-path="${paths.at(-1)!}" data-spends="${spendsOf(operation)}">
      <div class="fields">${parameters.map(field)}</div>
      ${
        body === undefined
          ? nothing
          : html`<label
              ><span>Body</span>
              <textarea name="body" data-in="body" rows="${Math.min(Object.keys(body).length + 2, 12)}" spellcheck="false">
${JSON.stringify(body, null, 1)}</textarea>
            </label>`
      }
    </form>
  </details>`;
}

/** Whether the request can spend: `no`, `always`, or unless it is a dry run. */
export function spendsOf(operation: JsonObject): 'no' | 'always' | 'dryRun' {
  const parameters = operation['parameters'] as readonly JsonObject[];
  if (!parameters.some(({ name }) => name === 'Idempotency-Key')) return 'no';
  const properties = at(operation, 'requestBody', 'content', 'application/json', 'schema', 'properties') as JsonObject | undefined;
  return properties?.['dryRun'] === undefined ? 'always' : 'dryRun';
}

function field({ name, in: place, required, schema, example }: JsonObject): Html {
  const { enum: values, default: preset } = schema as { readonly enum?: readonly Json[]; readonly default?: Json };
  const hint = preset === undefined ? '' : `default: ${JSON.stringify(preset)}`;
  const isRequired = required === true;
  const attributes = html`name="${words(name)}" data-in="${words(place)}"${isRequired ? html` required` : nothing}`;
  return html`<label
    ><span><code>${words(name)}</code>${isRequired ? nothing : ' optional'}</span>
    ${
      values === undefined
        ? html`<input
            ${attributes}
            value="${isRequired ? words(example) : ''}"
            placeholder="${hint}"
            spellcheck="false"
            autocomplete="off"
          />`
        : html`<select ${attributes}>
            <option value="">${hint}</option>
            ${values.map((value) => html`<option${isRequired && value === example ? html` selected` : nothing}>${words(value)}</option>`)}
          </select>`
    }
  </label>`;
}
