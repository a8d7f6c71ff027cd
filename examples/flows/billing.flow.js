/* meantime
name: billing
schedule:
  cron: "0 6 1 * *"
  zone: Europe/Berlin
tags: [example]
*/
// Bills all subscribers on the first of the month at six in the morning, in Berlin, in portions of fifty.
const portion = 50
const subscribers = await Task.run("list-subscribers", {})

let billed = 0
let failed = []
for (let from = 0; from < subscribers.length; from += portion) {
  const group = subscribers.slice(from, from + portion)
  const results = await Task.settle(
    group.map(subscriber => Workflow.run("payment", {
      order: `${subscriber.id}-${Time.format(Time.now(), "yyyy-MM", "Europe/Berlin")}`,
      amount: subscriber.price,
      currency: subscriber.currency
    }))
  )
  results.forEach((result, i) => {
    if (result.status == "completed" && result.result.status == "paid") {
      billed++
    } else {
      failed.push(group[i].id)
    }
  })
}
return { billed, failed }
