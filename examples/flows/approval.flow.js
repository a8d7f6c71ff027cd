/* meantime
name: approval
deadline: P14D
tags: [example]
*/
// Asks for an approval. No answer for two days: it is asked once more, with the manager in copy; no answer
// for another day: refused. Input: { request, approver, manager }. The signal `decision` answers.
export default async function (input) {
  await Task.run("ask-for-approval", { request: input.request, of: input.approver })

  let answer = await Task.race({ decision: Signal.next("decision"), silence: Task.delay("P2D") })

  if (answer.key == "silence") {
    await Task.run("ask-for-approval", {
      request: input.request,
      of: input.approver,
      copy: input.manager,
      urgent: true
    })
    answer = await Task.race({ decision: Signal.next("decision"), silence: Task.delay("P1D") })
  }

  if (answer.key == "silence") {
    return { approved: false, reason: "nobody answered in time" }
  }
  return { approved: answer.result.approved == true, by: answer.result.by ?? input.approver }
}
