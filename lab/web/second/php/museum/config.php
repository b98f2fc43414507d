<?php
// The till of the museum.
$till = ['host' => '10.1.0.9', 'user' => 'till', 'password' => 'Pendulum-1771'];
return true;
