"""How the client uploads a content for several members: with a gateway that is an object, and without a browser."""

import json
import os
import subprocess
import unittest

from gateway import ROOT

NODE = os.environ.get("NODE", "node")
CLIENT = os.path.join(ROOT, "public", "client")

# A gateway that has three resources with one content, to which `onpatch` is told of each piece.
GATEWAY = """
const { ContentUpload, interrupted } = await import(`${CLIENT}/content-upload.js`)
const { Resource } = await import(`${CLIENT}/resource.js`)
const { memoryStorage } = await import(`${CLIENT}/storage.js`)
const { problem } = await import(`${CLIENT}/problem.js`)
const content = new Blob([new Uint8Array(2_000_000).fill(7)])
const gone = new Set()
const pieces = []
let uploaded = 0
let onpatch = () => {}
const item = (id) => ({
  id, to: `to ${id}`, group: 'g', name: 'a.bin', size: content.size, direction: 'outgoing', bytes: 0, uploaded,
  state: uploaded < content.size ? 'uploading' : 'transferring',
})
const named = (path) => {
  const id = path.split('/')[5]
  if (gone.has(id)) throw problem('notFound', 'Not found', 'It is not there.', { status: 404 })
  return id
}
const gateway = {
  storage: memoryStorage(),
  async get(path) { return item(named(path)) },
  async delete(path) { gone.add(path.split('/')[5]) },
  async fetch(method, path, { body, headers, signal }) {
    const id = named(path)
    if (Number(headers['Upload-Offset']) !== uploaded) throw problem('conflict', 'Conflict', 'Not there.')
    pieces.push([id, uploaded])
    uploaded += body.size
    await onpatch(id)
    signal.throwIfAborted()
  },
}
const resources = ['a', 'b', 'c'].map((id) => new Resource(gateway, 's', item(id)))
const until = async (condition) => { while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5)) }
const isThere = () => uploaded === content.size
const tell = (value) => console.log(JSON.stringify(value))
"""


def run(code):
    program = f"const CLIENT = {json.dumps(CLIENT)}\n{GATEWAY}\n{code}"
    return json.loads(subprocess.check_output([NODE, "--input-type=module", "-e", program], timeout=60))


class ContentUploads(unittest.TestCase):
    def test_content_is_uploaded_once_and_each_resource_is_told_how_far_it_is(self):
        said = run("""
            new ContentUpload(gateway, 's', resources, content)
            await until(() => resources.every((resource) => resource.uploaded === content.size))
            while ((await gateway.storage.all('uploads')).length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
            tell([[...new Set(pieces.map(([id]) => id))], new Set(pieces.map(([, offset]) => offset)).size === pieces.length])
        """)
        self.assertEqual([["a"], True], said)

    def test_cancelling_one_leaves_the_upload_to_the_others(self):
        for how in ("resources[0].cancel()", "gone.add('a')"):
            said = run(f"""
                onpatch = () => {{ onpatch = () => {{}}; {how} }}
                new ContentUpload(gateway, 's', resources, content)
                await until(isThere)
                await until(() => resources[0].isOver)
                tell([resources.map(({{ state }}) => state), pieces[0][0], pieces.at(-1)[0], pieces.every(([id], at) => at === 0 || id === 'b')])
            """)
            self.assertEqual([["cancelled", "uploading", "uploading"], "a", "b", True], said)

    def test_upload_ends_with_the_last_that_is_cancelled(self):
        said = run("""
            onpatch = () => { onpatch = () => {}; return Promise.all(resources.map((resource) => resource.cancel())) }
            new ContentUpload(gateway, 's', resources, content)
            await until(() => resources.every(({ isOver }) => isOver))
            tell([pieces.length, (await gateway.storage.all('uploads')).length])
        """)
        self.assertEqual([1, 0], said)

    def test_pausing_one_pauses_all(self):
        said = run("""
            onpatch = () => { onpatch = () => {}; resources[2].pause() }
            new ContentUpload(gateway, 's', resources, content)
            await until(() => pieces.length === 1)
            const paused = resources.map(({ isPaused }) => isPaused)
            resources[1].resume()
            await until(isThere)
            tell([paused, resources.map(({ isPaused }) => isPaused)])
        """)
        self.assertEqual([[True] * 3, [False] * 3], said)

    def test_upload_to_the_same_members_is_known_after_a_reload(self):
        said = run("""
            onpatch = () => pieces.length > 1 && new Promise(() => {})
            new ContentUpload(gateway, 's', resources, content)
            await until(() => pieces.length > 1)
            const find = (to, more = content) => interrupted(gateway, 's', { to, name: 'a.bin', content: more })
            const ids = (known) => known?.items.map(({ id }) => id) ?? null
            const other = new Blob([new Uint8Array(content.size).fill(8)])
            gone.add('b')
            tell([ids(await find(['to c', 'to a', 'to b'])), ids(await find(['to a'])), ids(await find()), ids(await find(['to a', 'to b', 'to c'], other))])
            process.exit()
        """)
        self.assertEqual([["a", "c"], None, None, None], said)

    def test_upload_to_all_is_known_after_a_reload(self):
        said = run("""
            onpatch = () => pieces.length > 1 && new Promise(() => {})
            new ContentUpload(gateway, 's', resources, content, { toAll: true })
            await until(() => pieces.length > 1)
            const known = await interrupted(gateway, 's', { name: 'a.bin', content })
            tell([known?.items.map(({ id }) => id) ?? null, await interrupted(gateway, 'other', { name: 'a.bin', content })])
            process.exit()
        """)
        self.assertEqual([["a", "b", "c"], None], said)

    def test_only_what_is_uploaded_from_here_is_paused(self):
        said = run("""
            const incoming = new Resource(gateway, 's', { id: 'd', from: 'ben', name: 'b.bin', direction: 'incoming', state: 'transferring', bytes: 1, size: 9 })
            const kinds = []
            for (const name of ['pause', 'resume']) try { incoming[name]() } catch (error) { kinds.push(error.kind, error.message) }
            tell([kinds, incoming.isPaused])
        """)
        sentence = "b.bin is not uploaded from here: only an upload can be paused, by its sender."
        self.assertEqual([["unsupported", sentence] * 2, False], said)
