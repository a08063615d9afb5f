// The output of "remit export" with the SDKs of Anthropic and Google.
import Anthropic from '@anthropic-ai/sdk'
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import { GoogleGenAI } from '@google/genai'
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { allSets, executeCall, exported, fakeModel } from './models.mjs'
import { contracts, greetingOf, serve, sets, workspace } from './remit.mjs'

const question = 'Greet Ada.'

const message = (content, stop) => ({ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [content], stop_reason: stop, usage: { input_tokens: 1, output_tokens: 1 } })

// toolUse is an answer of Claude that calls a tool, and textAnswer is one that does not.
const toolUse = (name, input) => message({ type: 'tool_use', id: 'toolu_1', name, input }, 'tool_use')
const textAnswer = (text) => message({ type: 'text', text }, 'end_turn')

for (const set of sets) {
  test(`anthropic: Claude calls hello of ${set}`, async (t) => {
    const tools = exported(set, 'anthropic')
    const model = await fakeModel(t, toolUse('hello', { name: 'Ada' }), textAnswer('done'))
    const client = new Anthropic({ apiKey: 'none', baseURL: model.url, maxRetries: 0 })
    const url = await serve(t, workspace(), '--toolsets', set)
    const ask = (messages) => client.messages.create({ model: 'm', max_tokens: 100, tools, messages })
    const messages = [{ role: 'user', content: question }]
    const first = await ask(messages)
    const [use] = first.content
    const result = await executeCall(url, use.name, use.input)
    assert.equal(greetingOf(result), 'Hello, Ada!')
    messages.push({ role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: JSON.stringify(result) }] })
    assert.equal((await ask(messages)).content[0].text, 'done')
    for (const body of model.bodies) assert.deepEqual(body.tools, tools)
  })

  test(`gemini: Gemini calls hello of ${set}`, async (t) => {
    const tool = exported(set, 'gemini')
    const candidate = (part) => ({ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }] })
    const model = await fakeModel(t, candidate({ functionCall: { name: 'hello', args: { name: 'Ada' } } }), candidate({ text: 'done' }))
    const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: model.url } })
    const url = await serve(t, workspace(), '--toolsets', set)
    const chat = ai.chats.create({ model: 'm', config: { tools: [tool] } })
    const { functionCalls: [call] } = await chat.sendMessage({ message: question })
    const result = await executeCall(url, call.name, call.args)
    assert.equal(greetingOf(result), 'Hello, Ada!')
    const { text } = await chat.sendMessage({ message: { functionResponse: { name: call.name, response: result } } })
    assert.equal(text, 'done')
    for (const body of model.bodies) assert.deepEqual(body.tools, [tool])
  })
}

for (const set of allSets) {
  test(`anthropic: every tool of ${set} is valid for Claude`, () => {
    const tools = exported(set, 'anthropic')
    assert.deepEqual(tools.map((tool) => tool.name), contracts(set).map((contract) => contract.name))
    for (const { name, description, input_schema: schema } of tools) {
      assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
      assert.ok(description, name)
      assert.equal(schema.type, 'object', name)
      for (const keyword of ['anyOf', 'oneOf', 'allOf']) assert.ok(!(keyword in schema), `${name} has ${keyword} at the top level`)
    }
  })

  // Anthropic's SDK moves unsupported keywords of a strict schema to the description. Our strict
  // schemas must have none.
  test(`anthropic: the SDK finds nothing to move in the strict tools of ${set}`, () => {
    for (const { name, input_schema: schema, strict } of exported(set, 'anthropic', '--strict')) {
      if (strict) assert.deepEqual(descriptionsOf(transformJSONSchema(schema)), descriptionsOf(schema), name)
    }
  })

  test(`gemini: every tool of ${set} is valid for Gemini`, () => {
    const { functionDeclarations } = exported(set, 'gemini')
    assert.deepEqual(functionDeclarations.map((f) => f.name), contracts(set).map((contract) => contract.name))
    for (const { name, description, parametersJsonSchema: schema } of functionDeclarations) {
      assert.match(name, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/)
      assert.ok(description, name)
      assert.equal(schema.type, 'object', name)
      eachSchema(schema, (part) => {
        for (const keyword of Object.keys(part)) assert.ok(geminiKeywords.includes(keyword), `${name} has ${keyword}`)
        if ('$ref' in part) assert.deepEqual(Object.keys(part), ['$ref'], name)
      })
    }
  })
}

// geminiKeywords are the schema keywords that Google documents.
const geminiKeywords = ['$id', '$defs', '$ref', '$anchor', 'type', 'format', 'title', 'description', 'enum', 'items', 'prefixItems',
  'minItems', 'maxItems', 'minimum', 'maximum', 'anyOf', 'oneOf', 'properties', 'additionalProperties', 'required', 'propertyOrdering']

// eachSchema visits a schema and its subschemas.
function eachSchema(schema, visit) {
  visit(schema)
  for (const keyword of ['properties', '$defs']) Object.values(schema[keyword] ?? {}).forEach((part) => eachSchema(part, visit))
  for (const part of schema.anyOf ?? []) eachSchema(part, visit)
  for (const part of [schema.items, schema.additionalProperties]) if (typeof part === 'object') eachSchema(part, visit)
}

function descriptionsOf(schema) {
  const descriptions = []
  eachSchema(schema, (part) => descriptions.push(part.description))
  return descriptions
}
