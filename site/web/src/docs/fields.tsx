import { choicesOf, typesOf, type Field } from './schema.ts';

interface Props {
  readonly fields: readonly Field[];
  readonly texts: Readonly<Record<string, string>>;
  readonly onChange: (name: string, text: string) => void;
}

/** An input for each field. */
export function Fields({ fields, texts, onChange }: Props) {
  return (
    <div class="fields">
      {fields.map((field) => (
        <label key={field.name}>
          <span>
            <code>{field.name}</code>
            {field.isRequired ? '' : ' optional'}
          </span>
          <Input field={field} text={texts[field.name] ?? ''} onChange={(text) => onChange(field.name, text)} />
        </label>
      ))}
    </div>
  );
}

function Input({ field, text, onChange }: { readonly field: Field; readonly text: string; readonly onChange: (text: string) => void }) {
  const { schema, isRequired, name } = field;
  const choices = choicesOf(schema);
  if (choices !== null) {
    return (
      <select name={name} required={isRequired} value={text} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{schema.default === undefined ? '' : `default: ${JSON.stringify(schema.default)}`}</option>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  return (
    <input
      name={name}
      required={isRequired}
      value={text}
      spellcheck={false}
      autocomplete="off"
      placeholder={
        schema.default !== undefined ? `default: ${JSON.stringify(schema.default)}` : typesOf(schema).has('object') ? 'JSON' : ''
      }
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
