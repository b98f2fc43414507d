<?php
require 'lab.php';
show('Portal', hello() . links(['/forgot.php' => 'Forgotten?', '/invite.php' => 'Invite', '/outbox.php' => 'Mail']));
