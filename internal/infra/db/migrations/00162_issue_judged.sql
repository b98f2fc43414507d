-- +goose Up
ALTER TABLE issue ADD COLUMN judged $JSON; -- what verifying came to, so that it is told again after a crash

-- +goose Down
ALTER TABLE issue DROP COLUMN judged;
