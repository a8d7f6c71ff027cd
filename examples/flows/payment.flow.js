/* meantime
name: payment
tags: [example]
*/
// Charges a card, with patience where patience helps: the worker's attempts are for a network that stumbles,
// the days in between for an account that is empty. Input: { order, amount, currency }.
const pauses = ["P1D", "P3D", "P5D"]

function charge() {
  return Task.run("charge-card", { order: Inputs.order, amount: Inputs.amount, currency: Inputs.currency }, {
    retry: { maxAttempts: 5, backoff: "PT2S", maxDelay: "PT1M" },
    timeout: "PT30S"
  })
}

for (let attempt = 0; ; attempt++) {
  try {
    const receipt = await charge()
    return { status: "paid", receipt, attempts: attempt + 1 }
  } catch (error) {
    // A stolen card gets no second try, and neither does one that failed after the last pause.
    if (error.code != "INSUFFICIENT_FUNDS" || attempt >= pauses.length) {
      await Task.run("notify-customer", { order: Inputs.order, problem: error.code })
      return { status: "failed", code: error.code, attempts: attempt + 1 }
    }
    Log.warn(`payment of ${Inputs.order} refused, trying again in ${pauses[attempt]}`)
  }
  await Task.delay(pauses[attempt])
}
