// The tests that every official TypeScript client must pass with Remit, over stdio and over HTTP.
// The files *.test.mjs create their client and run these tests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import { approve, bodyOf, cleanUp, contracts, decision, dialogHeaders, entries, readingTime, serve, sets, shared, stdio, unexpectedLog, withEntry, workspace } from './remit.mjs'

const full = process.env.REMIT_FULL === 'true'

// masked replaces the varying fields of an answer with the expected values, if they exist and have
// the right type.
function masked(body, expected, varies = []) {
  const copy = structuredClone(body)
  for (const field of varies) mask(copy, expected, field.split('.'), field)
  return copy
}

// mask follows the names to one field. A name with [] means each element of a list.
function mask(inside, model, [name, ...rest], field) {
  if (name === '[]') { // a bare list
    assert.equal(inside.length, model.length, field)
    inside.forEach((element, i) => mask(element, model[i], rest, field))
    return
  }
  const list = name.endsWith('[]')
  const key = list ? name.slice(0, -2) : name
  assert.equal(typeof inside?.[key], typeof model?.[key], `${field} must exist, with its type`)
  if (rest.length === 0) {
    inside[key] = model[key]
  } else if (list) {
    assert.equal(inside[key].length, model[key].length, field)
    inside[key].forEach((element, i) => mask(element, model[key][i], rest, field))
  } else {
    mask(inside[key], model[key], rest, field)
  }
}

// suite runs all tests for one client, on each of its transports. Its arguments are
//   make(person)   creates the client; person answers elicitations, undefined means no elicitation
//   call           callTool with options, whose position differs between clients
//   Stdio, Http    the transports of the client
//   modern         whether the client uses the modern era
//   allExamples    whether to replay all examples over stdio in ./test.sh --full
export function suite(client, { make, call, Stdio, Http, modern, allExamples }) {
  const transports = {
    async stdio(t, root, person, args) {
      const transport = new Stdio({ ...stdio(root, ...args), stderr: 'pipe' })
      let stderr = ''
      transport.stderr.on('data', (text) => { stderr += text })
      return [transport, () => assert.equal(unexpectedLog(stderr), '', 'unexpected stderr')]
    },
    async http(t, root, person, args) {
      const headers = person ? await dialogHeaders(root) : {}
      return [new Http(new URL('/mcp', await serve(t, root, ...args)), { requestInit: { headers } }), () => {}]
    },
  }
  for (const [via, open] of Object.entries(transports)) {
    const connect = async (t, root, person, ...args) => {
      const [transport, closed] = await open(t, root, person, args)
      const connected = make(person)
      await connected.connect(transport)
      cleanUp(t, async () => {
        await connected.close()
        closed()
      })
      return connected
    }
    const each = (title, run) => test(`${client} over ${via}: ${title}`, run)
    toolTests(each, connect, { call, modern, allExamples: allExamples && via === 'stdio' })
    approvalTests(each, connect)
    otherTests(each, connect)
  }
}

// opener returns a function that connects a client for an example. Examples that only read the same
// files share one.
function opener(connect) {
  const clients = new Map()
  const start = async (t, set, example) => {
    const client = await connect(t, workspace(example.given), undefined, '--toolsets', set, '--approve', example.approve || 'auto')
    await client.listTools() // so that the client validates outputs against the schemas
    return client
  }
  return (t, set, contract, example) => {
    if (!contract.hints.readOnly || example.before) return start(t, set, example)
    const key = JSON.stringify([set, example.approve, example.given])
    if (!clients.has(key)) clients.set(key, start(shared, set, example))
    return clients.get(key)
  }
}

function toolTests(each, connect, { call, modern, allExamples }) {
  const open = opener(connect)
  for (const set of [...sets, 'tasks', 'books']) {
    each(`${set} lists its tools as in the contracts`, async (t) => {
      const client = await connect(t, workspace(), undefined, '--toolsets', set)
      assert.equal(client.getServerVersion().name, 'remit')
      assert.ok(client.getServerCapabilities().tools)
      assert.match(client.getInstructions(), new RegExp(contracts(set)[1].name))
      assert.equal(client.getNegotiatedProtocolVersion?.() ?? '2025-11-25', modern ? '2026-07-28' : '2025-11-25')
      const { tools, nextCursor } = await client.listTools()
      const known = contracts(set)
      assert.equal(nextCursor, undefined)
      assert.deepEqual(tools.map((tool) => tool.name), known.map((contract) => contract.name))
      for (const [i, tool] of tools.entries()) {
        const { hints, title, description, version, digest } = known[i]
        assert.deepEqual(tool.annotations, {
          title, readOnlyHint: hints.readOnly, destructiveHint: hints.destructive, idempotentHint: hints.idempotent, openWorldHint: hints.openWorld,
        })
        assert.deepEqual([tool.title, tool.description], [title, description])
        assert.equal(tool._meta['io.remit/version'], version)
        assert.equal(tool._meta['io.remit/digest'], digest)
        assert.equal(tool.inputSchema.type, 'object')
        assert.equal(tool.inputSchema.additionalProperties, false)
        assert.equal(tool.outputSchema.type, 'object')
      }
    })

    for (const contract of contracts(set)) {
      // One example per tool is enough: the Go tests compare all examples on all front ends, without
      // a client. ./test.sh --full replays more.
      const some = full && set !== 'books' ? 2 : 1
      for (const example of contract.examples.slice(0, full && allExamples && set !== 'books' ? undefined : some)) {
        each(`${set}/${contract.name}: ${example.title}`, async (t) => {
          const client = await open(t, set, contract, example)
          for (const step of example.before ?? []) await client.callTool({ name: step.tool, arguments: step.arguments })
          const result = await client.callTool({ name: contract.name, arguments: example.arguments })
          const body = bodyOf(result)
          const expected = example.error ?? example.result
          assert.equal(result.isError ?? false, Boolean(example.error))
          assert.deepEqual(masked(body, expected, example.varies), expected)
          if (contract.bare && !example.error) assert.deepEqual(Object.keys(result.structuredContent), [contract.bare])
        })
      }
    }
  }

  each('an unknown tool, and a tool error', async (t) => {
    const client = await connect(t, workspace(), undefined, '--toolsets', 'booster')
    if (!modern) await client.ping() // the modern era has no ping
    await assert.rejects(client.callTool({ name: 'helo', arguments: {} }), (e) => {
      assert.equal(e.code, -32602)
      assert.match(e.message, /did you mean "hello"\?/)
      return true
    })
    const denied = await client.callTool({ name: 'read_repo_file', arguments: { path: '.env' } })
    assert.equal(denied.isError, true)
    assert.equal(bodyOf(denied).error.code, 403)
  })

  each('a call with a progress token and no progress', async (t) => {
    const client = await connect(t, workspace(), undefined, '--toolsets', 'learning-os')
    const progress = []
    const options = { onprogress: (p) => progress.push(p), resetTimeoutOnProgress: true, timeout: 300_000 }
    const result = await call(client, { name: 'hello', arguments: { name: 'Ada' } }, options)
    assert.deepEqual(bodyOf(result), { greeting: 'Hello, Ada!' })
    assert.deepEqual(progress, [])
  })

  each('a call with progress', async (t) => {
    const client = await connect(t, workspace(), undefined, '--toolsets', 'conformance')
    // A client drops progress that it reads together with the answer, as it does on a busy machine.
    // So it gets one message at a time.
    const { transport } = client
    const receive = transport.onmessage
    transport.onmessage = (...message) => { setImmediate(receive, ...message) }
    const progress = []
    const options = { onprogress: (p) => progress.push(p.progress), resetTimeoutOnProgress: true, timeout: 300_000 }
    await call(client, { name: 'test_tool_with_progress', arguments: {} }, options)
    assert.deepEqual(progress, [0, 50, 100])
  })

  each('many concurrent calls', async (t) => {
    const client = await connect(t, workspace(), undefined, '--toolsets', 'learning-os')
    const names = Array.from({ length: 200 }, (_, i) => `n${i}`)
    const results = await Promise.all(names.map((n) => client.callTool({ name: 'hello', arguments: { name: n } })))
    assert.deepEqual(results.map((r) => bodyOf(r).greeting), names.map((n) => `Hello, ${n}!`))
  })
}

function approvalTests(each, connect) {
  each('a person accepts', async (t) => {
    const root = workspace()
    const shown = []
    const client = await connect(t, root, async (params) => {
      shown.push(params.message)
      await sleep(readingTime)
      return { action: 'accept', content: {} }
    }, '--toolsets', 'learning-os')
    const result = await client.callTool({ name: 'write_memory_entry', arguments: decision })
    assert.deepEqual(bodyOf(result), { success: true, line_number: 1 })
    assert.deepEqual(entries(root), [decision.entry])
    assert.equal(shown.length, 1)
    assert.match(shown[0], /SQLite for tasks/)
  })

  for (const [title, wait, status] of [
    ['a person declines', readingTime, 'denied'],
    ['a client declines faster than a person can decide', 0, 'pending'],
  ]) {
    each(title, async (t) => {
      const root = workspace()
      const client = await connect(t, root, async () => {
        await sleep(wait)
        return { action: 'decline' }
      }, '--toolsets', 'learning-os')
      const began = performance.now()
      const result = await client.callTool({ name: 'write_memory_entry', arguments: decision })
      // The machine was too busy to answer at once.
      const busy = wait === 0 && performance.now() - began > 250
      assert.equal(result.isError, true)
      if (!busy) assert.equal(bodyOf(result).approval.status, status)
      assert.deepEqual(entries(root), [])
    })
  }

  each('a client without elicitation gets a pending request', async (t) => {
    const root = workspace()
    const client = await connect(t, root, undefined, '--toolsets', 'learning-os')
    const write = () => client.callTool({ name: 'write_memory_entry', arguments: decision })
    const { approval } = bodyOf(await write())
    assert.equal(approval.status, 'pending')
    assert.deepEqual(entries(root), [])
    await approve(approval.id, root)
    assert.deepEqual(bodyOf(await write()), { success: true, line_number: 1 })
    assert.equal(bodyOf(await write()).approval.status, 'pending')
    assert.equal(entries(root).length, 1)
  })

  each('an approval, and then a question of the tool in the same call', async (t) => {
    const shown = []
    const client = await connect(t, workspace(), async ({ message }) => {
      shown.push(message)
      await sleep(readingTime)
      return { action: 'accept', content: shown.length === 1 ? {} : { reason: 'it is time' } }
    }, '--toolsets', 'conformance')
    const result = await client.callTool({ name: 'test_guarded_elicitation', arguments: {} })
    assert.deepEqual(result.content, [{ type: 'text', text: 'Done, because it is time' }])
    assert.equal(shown.length, 2)
    assert.match(shown[0], /asks for your approval/)
    assert.equal(shown[1], 'Why should it be done?')
  })
}

function otherTests(each, connect) {
  each('resources', async (t) => {
    const client = await connect(t, workspace(withEntry))
    const { resources } = await client.listResources()
    const log = resources.find((r) => r.uri === 'memory://decisions.jsonl')
    assert.equal(log?.title, 'Decisions')
    const { contents } = await client.readResource({ uri: log.uri })
    assert.deepEqual(contents.map((c) => JSON.parse(c.text)), [decision.entry])
    const contract = await client.readResource({ uri: 'remit://contracts/hello' })
    assert.equal(JSON.parse(contract.contents[0].text).name, 'hello')
    const { resourceTemplates } = await client.listResourceTemplates()
    assert.ok(resourceTemplates.some((r) => r.uriTemplate === 'memory://{file}'))
    await assert.rejects(client.readResource({ uri: 'memory://nothing.jsonl' }), /nothing\.jsonl/)
  })

  each('prompts and completion', async (t) => {
    const client = await connect(t, workspace({ ...withEntry, 'docs/guide.md': '# Guide' }))
    const { prompts } = await client.listPrompts()
    assert.deepEqual(prompts.map((p) => p.name), ['weekly_review', 'record_decision', 'explain_file', 'plan_my_day', 'summarise_chapter', 'review_lesson', 'what_do_we_know', 'onboard_me'])
    const { messages } = await client.getPrompt({ name: 'record_decision', arguments: { title: 'Use SQLite' } })
    assert.match(messages[0].content.text, /Use SQLite/)
    await assert.rejects(client.getPrompt({ name: 'record_decision', arguments: {} }), /title/)
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'explain_file' }, argument: { name: 'path', value: 'docs/' },
    })
    assert.deepEqual(completion.values, ['docs/guide.md'])
  })
}
