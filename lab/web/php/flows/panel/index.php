<?php
require 'lab.php';
show('Panel', hello() . links(['/panel.php?lang=en' => 'Panel', '/panel.php?lang=de' => 'Auf Deutsch']));
