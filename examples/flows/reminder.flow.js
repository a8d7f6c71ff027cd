/* meantime
name: reminder
tags: [example]
*/
// Reminds somebody of an open invoice, more and more firmly, until it is paid or written off.
// Input: { invoice, customer, escalateTo }. The signal `paid` ends it at any time.
const steps = [
  { after: "P7D", type: "send-friendly-reminder" },
  { after: "P7D", type: "send-firm-reminder" },
  { after: "P14D", type: "send-final-notice" }
]

for (const step of steps) {
  const first = await Task.race({ paid: Signal.next("paid"), pause: Task.delay(step.after) })
  if (first.key == "paid") {
    return { status: "paid", receipt: first.result }
  }
  await Task.run(step.type, { invoice: Inputs.invoice, customer: Inputs.customer })
}

// Nobody paid after three letters: a person decides, and a late payment still counts.
const last = await Task.race({
  paid: Signal.next("paid"),
  decision: Task.run("decide-on-debt", { invoice: Inputs.invoice, by: Inputs.escalateTo })
})
return last.key == "paid"
  ? { status: "paid", receipt: last.result }
  : { status: last.result.writeOff ? "written-off" : "collection", by: Inputs.escalateTo }
