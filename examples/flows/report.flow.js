/* meantime
name: report
tags: [example]
*/
// Builds a report from many regions at once. A region that fails is named in the report instead of spoiling
// it; if more than half fail, there is no report. Input: { month, regions[] }.
const parts = await Task.settle(
  Inputs.regions.map(region => Task.run("regional-figures", { region, month: Inputs.month }, { deadline: "PT1H" }))
)

let figures = []
let missing = []
for (let i = 0; i < parts.length; i++) {
  if (parts[i].status == "completed") {
    figures.push({ region: Inputs.regions[i], ...parts[i].result })
  } else {
    missing.push({ region: Inputs.regions[i], why: parts[i].error.code })
  }
}

if (missing.length * 2 > parts.length) {
  throw new Error(`no report for ${Inputs.month}: ${missing.length} of ${parts.length} regions are missing`)
}

const total = figures.reduce((sum, part) => sum + part.revenue, 0)
const document = await Task.run("render-report", { month: Inputs.month, total, figures, missing })
return { document, total, missing }
