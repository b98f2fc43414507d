<!doctype html><title>Moon</title><p>Full on Friday.</p><a href="/">Back</a>
