<?php
// The PIN of a box is compared with ==, and comes in JSON.
header('Content-Type: application/json');
$weak = getenv('LAB_VARIANT') === 'weak';
$body = json_decode(file_get_contents('php://input', length: 5000), true);
$boxes = ['12' => ['pin-' . bin2hex(random_bytes(6)), 'a ring and a letter'], '13' => ['pin-' . bin2hex(random_bytes(6)), 'nothing']];
$box = is_array($body) ? ($body['box'] ?? '') : '';
$pin = is_array($body) ? ($body['pin'] ?? '') : '';
if ((is_string($box) || is_int($box)) && isset($boxes[$box]) && ($weak ? $boxes[$box][0] == $pin : $boxes[$box][0] === $pin)) {
	echo json_encode(['inside' => $boxes[$box][1]]);
} else {
	http_response_code(403);
	echo json_encode(['error' => 'The box stays closed.']);
}
