// The output of "remit export" with the SDKs of OpenAI.
import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents'
import OpenAI from 'openai'
import { toStrictJsonSchema } from 'openai/lib/transform'
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { allSets, executeCall, exported, fakeModel, withNulls } from '../../clients/models.mjs'
import { contracts, greetingOf, serve, sets, workspace } from '../../clients/remit.mjs'

setTracingDisabled(true)

// describedKeywords are the keywords that strict schemas do not support. The export puts them into
// the description.
const describedKeywords = ['default', 'minLength', 'maxLength', 'uniqueItems', 'examples', 'deprecated', '$schema', 'description', 'x-mcp-header']

// withoutDescriptions returns a schema without these keywords.
function withoutDescriptions(schema) {
  const out = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (describedKeywords.includes(keyword) || keyword === 'format' && value === 'uri') continue
    out[keyword] = ['properties', '$defs'].includes(keyword) ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutDescriptions(part)]))
      : ['items', 'additionalProperties'].includes(keyword) && typeof value === 'object' ? withoutDescriptions(value)
        : ['anyOf', 'allOf'].includes(keyword) ? value.map(withoutDescriptions) : value
  }
  return out
}

// nullable allows null for optional arguments, as OpenAI requires.
function nullable(schema) {
  const optional = Object.entries(schema.properties).filter(([name]) => !(schema.required ?? []).includes(name))
  for (const [, part] of optional) {
    if (part.anyOf) part.anyOf.push({ type: 'null' })
    if (part.type) part.type = [part.type, 'null'].flat()
    if (part.enum) part.enum.push(null)
  }
  return schema
}

// strictBySDK returns the strict schema that OpenAI's SDK makes, or undefined if the SDK cannot
// make one.
function strictBySDK(schema) {
  try {
    return toStrictJsonSchema(nullable(withoutDescriptions(schema)))
  } catch {
    return undefined
  }
}

// sorted sorts the lists whose order does not matter.
const sorted = (schema) => JSON.parse(JSON.stringify(schema), (key, value) => key === 'required' ? value.toSorted() : value)

for (const set of allSets) {
  test(`openai: the strict schemas of ${set} equal those of the SDK`, () => {
    const published = Object.fromEntries(exported(set, 'mcp').map((definition) => [definition.name, definition.inputSchema]))
    let strictCount = 0
    for (const { function: { name, parameters, strict } } of exported(set, 'openai', '--strict')) {
      const theirs = strictBySDK(published[name])
      assert.equal(strict, theirs !== undefined, name)
      if (!strict) continue
      strictCount++
      assert.deepEqual(sorted(withoutDescriptions(parameters)), sorted(theirs), name)
      assert.deepEqual(toStrictJsonSchema(parameters), parameters, `${name} is not strict`)
    }
    assert.ok(strictCount > 0)
  })

  test(`openai: every tool of ${set} is valid for OpenAI`, () => {
    for (const args of [[], ['--strict']]) {
      const tools = exported(set, 'openai', ...args)
      assert.deepEqual(tools.map((t) => t.function.name), contracts(set).map((contract) => contract.name))
      for (const { type, function: { name, description, parameters } } of tools) {
        assert.equal(type, 'function')
        assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
        assert.ok(description.length > 0 && description.length <= 1024, name)
        assert.equal(parameters.type, 'object', name)
        for (const keyword of ['anyOf', 'oneOf', 'allOf', 'enum', 'not']) assert.ok(!(keyword in parameters), `${name} has ${keyword} at the top level`)
      }
      assert.deepEqual(exported(set, 'responses', ...args), tools.map(({ type, function: f }) => ({ type, ...f })))
    }
  })
}

// agentCalls lets an agent call a tool of a set, and returns the output that the model got.
async function agentCalls(t, set, name, args, ...flags) {
  const url = await serve(t, workspace(), '--toolsets', set)
  const definitions = exported(set, 'responses', ...flags)
  const tools = definitions.map((definition) => tool({
    ...definition, errorFunction: null, execute: (given) => executeCall(url, definition.name, given),
  }))
  const { parameters, strict } = definitions.find((definition) => definition.name === name)
  const requests = []
  const model = {
    async getResponse(request) {
      requests.push(request)
      const output = requests.length === 1
        ? { type: 'function_call', callId: 'call-1', name, arguments: JSON.stringify(strict ? withNulls(parameters, args) : args), status: 'completed' }
        : { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }
      return { usage: new Usage(), output: [output] }
    },
    async * getStreamedResponse() { throw new Error('streaming is not supported') },
  }
  const result = await run(new Agent({ name: 'tester', instructions: 'Call it.', model, tools }), 'go')
  assert.equal(result.finalOutput, 'done')
  for (const [i, offered] of requests[0].tools.entries()) {
    assert.deepEqual([offered.name, offered.description, offered.parameters, offered.strict],
      [definitions[i].name, definitions[i].description, definitions[i].parameters, definitions[i].strict])
  }
  const called = result.history.find((item) => item.type === 'function_call_result')
  return JSON.parse(called.output.text)
}

for (const flags of [[], ['--strict']]) {
  for (const set of sets) {
    test(`agents: an agent calls hello of ${set} ${flags}`, async (t) => {
      assert.equal(greetingOf(await agentCalls(t, set, 'hello', { name: 'Ada' }, ...flags)), 'Hello, Ada!')
    })
  }
  test(`agents: an agent leaves out optional arguments ${flags}`, async (t) => {
    assert.equal(greetingOf(await agentCalls(t, 'booster', 'hello', {}, ...flags)), 'Hello, World!')
  })
  test(`agents: an agent adds a task ${flags}`, async (t) => {
    const { success, data } = await agentCalls(t, 'tasks', 'add_task', { user_id: 'ada', title: 'Buy groceries' }, ...flags)
    assert.equal(success, true)
    assert.deepEqual([data.title, data.description, data.priority, data.due_date], ['Buy groceries', null, 'Medium', null])
  })
  test(`agents: a tool error reaches the model ${flags}`, async (t) => {
    const { success, error } = await agentCalls(t, 'tasks', 'complete_task', { user_id: 'ada', task_id: '999' }, ...flags)
    assert.deepEqual([success, error.code], [false, 'not_found'])
  })
}

test('openai: runTools of Chat Completions calls the tools', async (t) => {
  const url = await serve(t, workspace(), '--toolsets', 'booster')
  const tools = exported('booster', 'openai', '--strict')
  const choice = (message, reason) => ({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, finish_reason: reason, message: { role: 'assistant', content: null, ...message } }] })
  const model = await fakeModel(t,
    choice({ tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'hello', arguments: '{"name":null}' } }] }, 'tool_calls'),
    choice({ content: 'done' }, 'stop'))
  const client = new OpenAI({ apiKey: 'none', baseURL: model.url, maxRetries: 0 })
  const runnable = tools.map(({ type, function: f }) => ({ type, function: { ...f, parse: JSON.parse, function: (args) => executeCall(url, f.name, args) } }))
  const runner = client.chat.completions.runTools({ model: 'm', messages: [{ role: 'user', content: 'Greet.' }], tools: runnable })
  assert.equal(await runner.finalContent(), 'done')
  for (const body of model.bodies) assert.deepEqual(body.tools, tools)
  assert.match(model.bodies[1].messages.at(-1).content, /Hello, World!/)
})

test('openai: Responses sends the tools unchanged', async (t) => {
  const tools = exported('booster', 'responses', '--strict')
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call-1', name: 'hello', arguments: '{"name":"Ada"}', status: 'completed' }
  const model = await fakeModel(t, { id: 'r', object: 'response', status: 'completed', model: 'm', output: [call] })
  const client = new OpenAI({ apiKey: 'none', baseURL: model.url, maxRetries: 0 })
  const { output: [called] } = await client.responses.create({ model: 'm', input: 'Greet Ada.', tools })
  const url = await serve(t, workspace(), '--toolsets', 'booster')
  assert.equal(greetingOf(await executeCall(url, called.name, JSON.parse(called.arguments))), 'Hello, Ada!')
  assert.deepEqual(model.bodies[0].tools, tools)
})
