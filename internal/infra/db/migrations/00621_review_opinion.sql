-- +goose Up
-- What a language model said of the change; NULL: none was asked.
ALTER TABLE review_run ADD COLUMN opinion $JSON;

-- +goose Down
ALTER TABLE review_run DROP COLUMN opinion;
