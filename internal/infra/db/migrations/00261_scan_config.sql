-- +goose Up
-- The configuration with which a run began, without the templates that came with the scan: a change is for the next run.
-- NULL: the run began before this was kept.
ALTER TABLE scan_plan ADD COLUMN config $JSON;

-- +goose Down
ALTER TABLE scan_plan DROP COLUMN config;
