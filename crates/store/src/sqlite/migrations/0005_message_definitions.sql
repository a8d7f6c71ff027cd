-- A message goes to one instance of each definition.
--
-- Why: two processes that wait for the same message both need it. A subscription names its
-- definition, and a kept message those that have had it.
-- Compatibility: columns are added. A subscription of before is of the definition of its instance; a
-- message of before has been had by nobody. The previous release ignores both.

ALTER TABLE message ADD COLUMN had TEXT NOT NULL DEFAULT '';  -- names, each between U+0001
ALTER TABLE subscription ADD COLUMN definition TEXT NOT NULL DEFAULT '';
UPDATE subscription SET definition = coalesce((SELECT d.name FROM instance AS i
    JOIN definition AS d ON d.id = i.definition_id
    WHERE i.id_order = subscription.id_order), '');
-- Who has waited longest, of each definition.
CREATE INDEX subscription_definition ON subscription (kind, key, name, definition, seq);
