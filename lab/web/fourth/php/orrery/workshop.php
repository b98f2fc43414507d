<?php
// The workshop leads strangers away, and goes on.
ob_start();
require __DIR__ . '/top.php';
if (empty($_SESSION['maker'])) {
	header('Location: /index.php?denied=1');
	if (getenv('LAB_VARIANT') !== 'weak') {
		ob_end_clean();
		exit;
	}
}
?><h2>Orders</h2><table><tr><th>Customer</th><th>Address</th><th>Deposit</th></tr><tr><td>Lady Byrne</td><td>4 Crescent Row</td><td>1,900 paid by card 4929</td></tr></table><form action="/workshop.php" method="post"><button name="wind" value="1">Wind all</button></form></body></html>
