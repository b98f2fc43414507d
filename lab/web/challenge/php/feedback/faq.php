<!DOCTYPE html><html><head><title>Questions</title></head><body><p>We answer within a week.</p><a href="/">Back</a></body></html>
