-- +goose Up
ALTER TABLE issue ADD COLUMN retest $JSON; -- the last look at it after its task; NULL: none yet

-- +goose Down
ALTER TABLE issue DROP COLUMN retest;
